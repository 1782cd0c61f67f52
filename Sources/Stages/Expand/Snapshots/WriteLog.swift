/// Which users were written to lately, so that who reads them meanwhile can tell. A pure machine.
///
/// Users are kept as 64-bit hashes: two of one hash make a page read somebody once more.
struct WriteLog {
  enum Writes: Equatable {
    case to(Set<UInt64>)
    /// Or so many that nobody can say.
    case toEverybody

    func include(_ user: UnsafeRawBufferPointer) -> Bool {
      switch self {
      case .toEverybody: true
      case .to(let hashes): !hashes.isEmpty && hashes.contains(WriteLog.hash(user))
      }
    }
  }

  /// While one page is read; 64 KiB.
  static let maximumUsers = 8_192

  private var hashes: [UInt64] = []
  /// Writes that are not kept any more.
  private var dropped = 0

  /// What comes after now is after this.
  var position: Int { dropped + hashes.count }

  mutating func note(_ user: UnsafeRawBufferPointer) {
    if hashes.count >= Self.maximumUsers { forget() }
    hashes.append(Self.hash(user))
  }

  mutating func noteEverybody() {
    forget()
    dropped += 1
  }

  private mutating func forget() {
    dropped += hashes.count
    hashes.removeAll(keepingCapacity: true)
  }

  /// - Parameter position: one that this log had.
  func writes(since position: Int) -> Writes {
    guard position >= dropped else { return .toEverybody }
    return .to(Set(hashes[(position - dropped)...]))
  }

  /// FNV-1a.
  static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}
