import Glibc
import MemoryRedis
import Processes

/// A real redis-server whose clock is ours: what `gettimeofday` says there is what `now` was set
/// to, and nothing ends but by a command's looking. Hashes are small ones whatever their size, so
/// that they keep the order of insertion.
final class RealRedis {
  private let directory: ScratchDirectory
  private let reserved: ReservedPort
  private let process: ChildProcess
  private let clock: UnsafeMutablePointer<Int64>
  let connection: RealConnection
  /// As a user who may not run `RealRedis.denied`.
  let limited: RealConnection

  /// None that a script calls for each member of a set: how far it comes would be a matter of the
  /// set's order.
  static let denied: Set<ByteString> = ["hincrby", "xadd", "zadd", "script|exists"]

  /// Microseconds since 1970.
  var now: Int64 {
    get { clock.pointee }
    set { clock.pointee = newValue }
  }

  init(now: Int64) throws {
    directory = try ScratchDirectory()
    reserved = try ReservedPort()
    clock = try Self.map(directory.file("clock"))
    clock.pointee = now
    let library = try Self.compile(in: directory)
    process = try ChildProcess(
      [
        "redis-server", "--bind", "127.0.0.1", "--port", "\(reserved.number)", "--dir",
        directory.path, "--save", "", "--appendonly", "no", "--enable-debug-command", "yes",
        "--hash-max-listpack-entries", "1000000", "--hash-max-listpack-value", "1000000",
      ], output: .file(directory.file("log")),
      environment: ["LD_PRELOAD": library, "TESTS_CLOCK": directory.file("clock")])
    connection = try RealConnection(startingAt: reserved.number)
    limited = try RealConnection(port: reserved.number)
    try prepare()
  }

  deinit { munmap(clock, MemoryLayout<Int64>.size) }

  private func prepare() throws {
    let rules = Self.denied.sorted().map { ByteString("-\($0.text)") }
    _ = try connection.ask([
      ["DEBUG", "SET-ACTIVE-EXPIRE", "0"],
      ["ACL", "SETUSER", "limited", "on", ">secret", "~*", "&*", "+@all"] + rules,
    ])
    _ = try limited.ask([["AUTH", "limited", "secret"]])
  }

  private static func map(_ path: String) throws -> UnsafeMutablePointer<Int64> {
    let file = Glibc.open(path, O_RDWR | O_CREAT, 0o600)
    defer { close(file) }
    let size = MemoryLayout<Int64>.size
    guard file >= 0, ftruncate(file, size) == 0,
      let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0),
      memory != MAP_FAILED
    else { throw RealRedisError(text: "cannot map \(path): \(errno)") }
    return memory.bindMemory(to: Int64.self, capacity: 1)
  }

  private static func compile(in directory: ScratchDirectory) throws -> String {
    let source = try directory.write(clockSource, to: "clock.c")
    let library = directory.file("clock.so")
    _ = try ChildProcess.run(
      ["clang", "-shared", "-fPIC", "-O2", "-o", library, source], hasGuardian: false)
    return library
  }

  private static let clockSource = """
    #include <fcntl.h>
    #include <stdint.h>
    #include <stdlib.h>
    #include <sys/mman.h>
    #include <sys/time.h>
    #include <unistd.h>

    static volatile int64_t *now;

    __attribute__((constructor)) static void start(void) {
      const char *path = getenv("TESTS_CLOCK");
      int file = path ? open(path, O_RDONLY) : -1;
      void *memory = file < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ, MAP_SHARED, file, 0);
      if (memory == MAP_FAILED) abort();
      close(file);
      now = memory;
    }

    int gettimeofday(struct timeval *restrict time, void *restrict zone) {
      (void)zone;
      int64_t value = *now;
      time->tv_sec = value / 1000000;
      time->tv_usec = value % 1000000;
      return 0;
    }

    """
}

struct RealRedisError: Error {
  let text: String
}

/// A connection that waits for its answers.
final class RealConnection {
  private let socket: Int32
  private var buffer: [UInt8] = []
  private var start = 0

  init(port: Int) throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let socket = socket
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw RealRedisError(text: "no connection: \(errno)") }
    var isOn: Int32 = 1
    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, 4)
  }

  /// Of a server that is about to listen.
  convenience init(startingAt port: Int) throws {
    for _ in 0..<1_000 {
      if let known = try? RealConnection(port: port) {
        self.init(taking: known)
        return
      }
      poll(nil, 0, 20)
    }
    throw RealRedisError(text: "redis-server does not listen")
  }

  private init(taking other: RealConnection) { socket = dup(other.socket) }

  deinit { close(socket) }

  func ask(_ commands: [[ByteString]]) throws -> [StoreReply] {
    var bytes: [UInt8] = []
    for command in commands { StoreReply.array(command.map { .bulk($0) }).write(to: &bytes) }
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes { bytes in
        send(
          socket, bytes.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw RealRedisError(text: "Redis takes nothing: \(errno)") }
      sent += count
    }
    return try commands.map { _ in try reply() }
  }

  private func reply() throws -> StoreReply {
    let line = try line()
    let rest = ByteString(Array(line.dropFirst()))
    switch line.first {
    case UInt8(ascii: "+"): return .status(rest)
    case UInt8(ascii: "-"): return .error(rest)
    case UInt8(ascii: ":"): return .integer(rest.integer ?? 0)
    case UInt8(ascii: "$"):
      guard let count = rest.integer, count >= 0 else { return .null }
      try fill(Int(count) + 2)
      defer { start += Int(count) + 2 }
      return .bulk(ByteString(Array(buffer[start..<(start + Int(count))])))
    case UInt8(ascii: "*"):
      guard let count = rest.integer, count >= 0 else { return .nullArray }
      return .array(try (0..<count).map { _ in try reply() })
    default: throw RealRedisError(text: "this is no RESP: \(rest.text)")
    }
  }

  private func line() throws -> [UInt8] {
    var position = start
    while true {
      if let end = buffer[position...].firstIndex(of: 0x0D), end + 1 < buffer.count {
        defer { start = end + 2 }
        return Array(buffer[start..<end])
      }
      position = max(start, buffer.count - 1)
      let moved = start
      try receive()
      position -= moved - start
    }
  }

  private func fill(_ count: Int) throws {
    while buffer.count - start < count { try receive() }
  }

  private func receive() throws {
    buffer.removeFirst(start)
    start = 0
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    let count = recv(socket, &chunk, chunk.count, 0)
    guard count > 0 else { throw RealRedisError(text: "Redis closed the connection") }
    buffer += chunk.prefix(count)
  }
}
