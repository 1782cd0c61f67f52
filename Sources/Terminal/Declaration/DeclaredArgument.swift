/// An entry of a verb's list of arguments: an `Argument` of any type.
package protocol DeclaredArgument: Sendable {
  var declaration: ArgumentDeclaration { get }
}
