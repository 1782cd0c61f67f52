/// An error that says whether waiting may mend it.
package protocol TransientError: Error {
  /// Whether the same call may succeed later without anybody mending the data or the call. An
  /// operator may have to mend something else: permissions, memory, clocks.
  var isTransient: Bool { get }

  /// Whether that is a guess: to be waited for while the work is of use, not for ever.
  var isUncertain: Bool { get }

  /// Whether the connection that it came on may give answers to other questions: not to be used
  /// again.
  var isOutOfStep: Bool { get }
}

extension TransientError {
  package var isUncertain: Bool { false }
  package var isOutOfStep: Bool { false }
}
