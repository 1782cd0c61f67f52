/// The request of a command line.
package enum Request: Sendable {
  case help(path: [String])
  case version
  case run(ParsedCommand)
}
