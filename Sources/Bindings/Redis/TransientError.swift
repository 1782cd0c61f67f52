/// An error that says whether waiting may mend it.
package protocol TransientError: Error {
  /// Whether the same call may succeed later without anybody mending the data or the call. An
  /// operator may have to mend something else: permissions, memory, clocks.
  var isTransient: Bool { get }
}
