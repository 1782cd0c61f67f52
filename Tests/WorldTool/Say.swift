import Glibc

/// Writes whole lines at once, from any thread, whatever reads them.
func say(_ text: String) {
  var rest = Array((text + "\n").utf8)[...]
  while !rest.isEmpty {
    let count = rest.withUnsafeBytes { write(1, $0.baseAddress, $0.count) }
    guard count > 0 else { return }
    rest = rest.dropFirst(count)
  }
}
