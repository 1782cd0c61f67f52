import FuzzTargets
import Glibc

#if FUZZING
  private typealias Input = @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
  private typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

  /// libFuzzer's own main, as its documentation has it ("Using libFuzzer as a library"). There is
  /// no header of it.
  @_silgen_name("LLVMFuzzerRunDriver")
  private func runFuzzer(
    _ count: UnsafeMutablePointer<CInt>, _ arguments: UnsafeMutablePointer<Arguments>,
    _ body: Input
  ) -> CInt

  /// A function of C has no context. Set once, before libFuzzer begins.
  nonisolated(unsafe) private var running: FuzzTarget?

  /// - Parameter arguments: libFuzzer's own.
  func run(_ target: FuzzTarget, _ arguments: [String]) -> CInt {
    running = target
    let copies = (CommandLine.arguments.prefix(1) + arguments).map { strdup($0) } + [nil]
    return copies.withUnsafeBufferPointer { copies in
      var count = CInt(copies.count - 1)
      guard var start = Arguments(mutating: copies.baseAddress) else { return 2 }
      return runFuzzer(&count, &start, check)
    }
  }

  /// Under the name by which libFuzzer's archive wants it, too.
  @_cdecl("LLVMFuzzerTestOneInput")
  func check(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
      try running?.check(UnsafeRawBufferPointer(start: bytes, count: count))
    } catch {
      print("\(error)")
      fflush(nil)
      abort()
    }
    return 0
  }
#else
  /// - Parameter arguments: files.
  func run(_ target: FuzzTarget, _ arguments: [String]) -> CInt {
    var failures: CInt = 0
    for path in arguments {
      guard let file = fopen(path, "rb") else {
        print("\(path) is not there")
        return 2
      }
      defer { fclose(file) }
      var bytes = [UInt8](repeating: 0, count: 1 << 20)
      let count = fread(&bytes, 1, bytes.count, file)
      do {
        try bytes.withUnsafeBytes {
          try target.check(UnsafeRawBufferPointer(rebasing: $0[..<count]))
        }
      } catch {
        print("\(path): \(error)")
        failures = 1
      }
    }
    return failures
  }
#endif
