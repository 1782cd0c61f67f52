import Glibc
import Text

/// The .p8 key that `apns.key_file` leads to: a file, or the one of a directory, behind whatever
/// symbolic links. Apple calls it `AuthKey_<key id>.p8`, so that its name says which key it is: who
/// puts another in its place need not change a setting.
package struct ProviderKeyFile: Sendable {
  /// A .p8 key is about 260 bytes.
  package static let maximumBytes = 64 << 10
  private static let prefix = "AuthKey_"
  private static let suffix = ".p8"

  package let file: BoundedFile
  /// Of the file's own name; nil when it is another than Apple gives.
  package let keyID: String?

  /// The link is followed before the file is opened, so that name and content belong together
  /// while the link is set to another file, as Kubernetes does.
  package static func read(_ path: String) throws(SettingComplaint) -> ProviderKeyFile {
    let target = resolved(isDirectory(path) ? try onlyKey(in: path) : path)
    do {
      let file = try BoundedFile.readSecret(target, maximumBytes: maximumBytes)
      return ProviderKeyFile(file: file, keyID: keyID(named: target))
    } catch {
      // It is called what the setting calls it.
      let message = error.message.replacing(Shown.path(target), with: Shown.path(path))
      throw SettingComplaint(message, hint: error.hint)
    }
  }

  /// nil for a name that Apple would not give.
  static func keyID(named path: String) -> String? {
    let name = path.split(separator: "/").last ?? ""
    guard name.hasPrefix(prefix), name.hasSuffix(suffix), name.utf8.count > 11 else { return nil }
    let id = String(name.dropFirst(prefix.count).dropLast(suffix.count))
    return TextRule.appleIdentifier.complaint(about: id) == nil ? id : nil
  }

  private static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  /// A path that does not exist is left as it is: opening it says why.
  private static func resolved(_ path: String) -> String {
    guard let real = realpath(path, nil) else { return path }
    defer { free(real) }
    return String(cString: real)
  }

  private static func onlyKey(in directory: String) throws(SettingComplaint) -> String {
    let names: [String]
    do {
      names = try DirectoryNames.read(directory) { keyID(named: $0) != nil }
    } catch {
      throw SettingComplaint("\(Shown.path(directory)) cannot be read: \(error.reason)")
    }
    guard names.count == 1, let name = names.first else {
      throw SettingComplaint(
        "\(Shown.path(directory)) holds \(names.isEmpty ? "no" : String(names.count)) files named "
          + "AuthKey_<key id>.p8, must hold one")
    }
    return "\(directory)/\(name)"
  }
}

/// Lists the files of a directory.
package enum DirectoryNames {
  package struct Unreadable: Error {
    /// In the system's words.
    package let reason: String
  }

  /// In no order; stops behind `maximum` and one more, so that too many are noticed.
  package static func read(
    _ directory: String, upTo maximum: Int = .max, where isWanted: (String) -> Bool
  ) throws(Unreadable) -> [String] {
    guard let stream = opendir(directory) else {
      throw Unreadable(reason: String(cString: strerror(errno)))
    }
    defer { closedir(stream) }
    var names: [String] = []
    while names.count <= maximum, let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
      if isWanted(name) { names.append(name) }
    }
    return names
  }
}
