/// A positional argument as help, the parser and completions see it.
package struct ArgumentDeclaration: Sendable {
  package let name: String
  package let kind: ValueKind
  package let help: String
  let defaultText: String?
  package let isRequired: Bool
  /// Takes all that is left; only the last argument of a verb may.
  let takesRest: Bool
  let check: @Sendable (String) throws(ValueRefusal) -> Void

  var usage: String {
    let plain = takesRest ? "<\(name)>..." : "<\(name)>"
    return isRequired ? plain : "[\(plain)]"
  }
}
