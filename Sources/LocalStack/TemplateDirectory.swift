import Processes

/// Where the templates are that come with Fanfare.
package enum TemplateDirectory {
  private static let template = "go-live.yaml"

  /// - Parameter given: what the command line says.
  package static func find(_ given: String?) throws(LocalRunError) -> String {
    if let given {
      guard ScratchDirectory.exists("\(given)/\(template)") else {
        throw LocalRunError(.configuration, "\(given) holds no template \(template)")
      }
      return Executable.absolute(given)
    }
    var places = ["Config/templates"]
    // .build/<platform>/<configuration>/fanfare stands four levels below the checkout.
    if var directory = Executable.ownDirectory {
      for _ in 0..<4 {
        places.append(directory + "/Config/templates")
        guard let slash = directory.lastIndex(of: "/") else { break }
        directory = String(directory[..<slash])
      }
    }
    places.append("/etc/fanfare/templates")
    guard let place = places.first(where: { ScratchDirectory.exists("\($0)/\(template)") }) else {
      throw LocalRunError(
        .configuration,
        "the template \(template) is not in \(places[0]) nor near the program: name its "
          + "directory with --templates")
    }
    return Executable.absolute(place)
  }
}
