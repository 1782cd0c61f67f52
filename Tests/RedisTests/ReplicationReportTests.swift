import Testing
import Transport

@testable import Redis

/// What INFO replication says.
@Suite struct ReplicationReportTests {
  @Test func aMasterNamesItsReplicas() throws {
    let reply = try information([
      "# Replication", "role:master", "connected_slaves:5",
      "slave0:ip=10.0.0.1,port=6380,state=online,offset=100,lag=1",
      "slave1:ip=10.0.0.2,port=6380,state=wait_bgsave,offset=0,lag=0",
      // Valkey says more, and a host name may be announced, or an IPv6 address.
      "slave2:ip=fd00::7,port=6381,state=online,offset=-1,lag=0,type=replica,rdb=no",
      "slave3:ip=replica.example,port=99999,state=online,offset=1,lag=0",
      "slave4:ip=,port=6380,state=online,offset=1,lag=0",
      "master_replid:aaaa", "master_repl_offset:140",
    ])
    let report = try #require(ReplicationReport(reply))
    #expect(report.role == .master && report.history == "aaaa" && report.offset == 140)
    #expect(
      report.replicas == [
        .init(endpoint: Endpoint(host: "10.0.0.1", port: 6380), offset: 100),
        .init(endpoint: Endpoint(host: "fd00::7", port: 6381), offset: -1),
      ])
  }

  @Test(arguments: [("up", "0", true), ("down", "0", false), ("up", "1", false)])
  func aReplicaSaysWhetherItHasAll(_ link: String, _ sync: String, _ isLinked: Bool) throws {
    let reply = try information([
      "role:slave", "master_link_status:\(link)", "master_sync_in_progress:\(sync)",
      "slave_read_repl_offset:130", "slave_repl_offset:120", "connected_slaves:1",
      "slave0:ip=10.0.0.1,port=6380,state=online,offset=100,lag=1", "master_replid:aaaa",
      "master_repl_offset:125",
    ])
    let report = try #require(ReplicationReport(reply))
    #expect(report.role == .replica(isLinked: isLinked))
    // What it has done.
    #expect(report.offset == 120 && report.replicas.isEmpty)
  }

  @Test(arguments: [
    "-NOPERM no INFO for you\r\n", "+role:master\r\n", ":1\r\n", "$-1\r\n", "*0\r\n",
  ])
  func whatIsNoReportIsNone(_ wire: String) throws {
    #expect(ReplicationReport(try replies(wire, 1)[0]) == nil)
  }

  @Test func aReportWithoutAnOffsetIsNone() throws {
    let lines = ["role:master", "connected_slaves:-3", "master_replid:aaaa"]
    #expect(ReplicationReport(try information(lines)) == nil)
    let whole = try #require(
      ReplicationReport(try information(lines + ["master_repl_offset:7"])))
    #expect(whole.replicas.isEmpty)
  }
}
