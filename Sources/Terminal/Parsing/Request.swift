/// What a command line asks for.
package enum Request: Sendable {
  case help(path: [String])
  case version
  case run(ParsedCommand)
}
