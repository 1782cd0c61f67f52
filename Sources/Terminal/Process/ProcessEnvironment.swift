import Glibc

package enum ProcessEnvironment {
  /// The user who runs the program: before `sudo`, if that was used. The environment says it, or in
  /// containers, which lack these variables, the system. Empty where neither does.
  package static var userName: String {
    let all = all
    if let name = all["SUDO_USER"] ?? all["USER"], !name.isEmpty { return name }
    guard let entry = getpwuid(getuid()) else { return "" }
    return String(cString: entry.pointee.pw_name)
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
