import Glibc

package enum ProcessEnvironment {
  /// The user who runs the program, as the environment says it: before `sudo`, if that was used.
  /// Empty where it does not say.
  package static var userName: String {
    let all = all
    return all["SUDO_USER"] ?? all["USER"] ?? ""
  }

  /// The variables of this process; of a name that stands twice, the first.
  package static var all: [String: String] {
    var variables: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
      let sides = String(cString: text).split(
        separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if sides.count == 2, variables[String(sides[0])] == nil {
        variables[String(sides[0])] = String(sides[1])
      }
      entry += 1
    }
    return variables
  }
}
