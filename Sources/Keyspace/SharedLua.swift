/// Lua that scripts of several modules begin with.
package enum SharedLua {
  /// `wrong(key, type)`.
  package static let types = PackageResources.types_lua
  /// `forbidden(commands)`.
  package static let permissions = PackageResources.permissions_lua
}
