/// For verbs: what cannot be read ends the command.
extension LineReader {
  package static func opened(
    _ path: String, maximumLineBytes: Int, until signals: StopSignals? = nil
  ) throws(CommandFailure) -> LineReader {
    do throws(Failure) {
      return try LineReader(path, maximumLineBytes: maximumLineBytes, until: signals)
    } catch {
      throw CommandFailure(error)
    }
  }

  package mutating func nextLine() throws(CommandFailure) -> Line? {
    do throws(Failure) {
      return try next()
    } catch {
      throw CommandFailure(error)
    }
  }
}
