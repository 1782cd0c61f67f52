/// Commands on the server and the connection. What depends on either is answered by `server`.
enum ServerCommands {
  static let all: [KnownCommand] = [
    CommandTable.read("ping", -1) { _, call throws(CommandError) in
      guard call.count <= 2 else { throw .arity("ping") }
      return call.count == 2 ? .bulk(call[1]) : .status("PONG")
    },
    CommandTable.read("echo", 2) { .bulk($1[1]) },
    KnownCommand(name: "time", arity: 1, runsWhileLoading: true) { store, _ in
      .strings([ByteString(store.now / 1_000_000), ByteString(store.now % 1_000_000)])
    },
    KnownCommand(name: "info", arity: -1, runsWhileLoading: true, run: ask),
    KnownCommand(name: "select", arity: 2, runsWhileLoading: true, run: ask),
    KnownCommand(
      name: "role", arity: 1, isForScripts: false, runsWhileLoading: true, run: ask),
    KnownCommand(
      name: "auth", arity: -2, isForScripts: false, runsWhileLoading: true, run: ask),
    KnownCommand(name: "wait", arity: 3, isForScripts: false, run: ask),
    KnownCommand(
      name: "readonly", arity: 1, runsWhileLoading: true, run: noCluster),
    KnownCommand(name: "asking", arity: 1, run: noCluster),
    KnownCommand(
      name: "cluster", arity: -2, subcommands: ["info": 2, "nodes": 2, "slots": 2],
      run: noCluster),
    KnownCommand(
      name: "client", arity: -2, isForScripts: false, runsWhileLoading: true,
      subcommands: ["setname": 3, "getname": 2, "id": 2], run: ask),
    KnownCommand(
      name: "config", arity: -2, isForScripts: false, runsWhileLoading: true,
      subcommands: ["get": -3], run: ask),
  ]

  private static let ask: KnownCommand.Body = { store, call throws(CommandError) in
    guard let server = store.server else {
      throw CommandError("ERR there is no server around this store")
    }
    return try server.answer(call)
  }

  private static let noCluster: KnownCommand.Body = { _, _ throws(CommandError) in
    throw CommandError("ERR This instance has cluster support disabled")
  }
}
