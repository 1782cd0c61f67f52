import Testing

@testable import SimulatorSupport

@Suite struct ControlAccessTests {
  private func allows(_ access: ControlAccess, _ text: String) -> Bool {
    Array(text.utf8).withUnsafeBytes { access.allows($0) }
  }

  @Test func onlyTheTokenIsAllowed() {
    let access = ControlAccess(token: "c0ffee")
    #expect(allows(access, "c0ffee"))
    for wrong in ["", "c0ffe", "c0ffee0", "C0FFEE", "d0ffee"] { #expect(!allows(access, wrong)) }
  }

  @Test func withoutATokenNobodyIsAllowed() {
    #expect(!allows(ControlAccess(token: ""), ""))
  }

  @Test func bytesAreBoundedAndComeBack() {
    let access = ControlAccess(token: "c0ffee")
    #expect(access.reserve(4 << 20))
    #expect(!access.reserve(1))
    access.release(1)
    #expect(access.reserve(1))
    #expect(!access.reserve(1))
  }
}
