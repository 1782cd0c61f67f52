/// A page of followers with their bindings for one topic and the profile fields that were asked
/// for: what Expand hands to Render. Flat on purpose: one arena and three arrays, whatever the
/// number of people.
package final class RecipientPage {
  package struct Recipient {
    package var user: ByteSlice
    /// `bindings[firstBinding ..< firstBinding + bindingCount]`
    package var firstBinding: Int32
    package var bindingCount: Int32

    package init(user: ByteSlice, firstBinding: Int, bindingCount: Int) {
      self.user = user
      self.firstBinding = Int32(truncatingIfNeeded: firstBinding)
      self.bindingCount = Int32(truncatingIfNeeded: bindingCount)
    }
  }

  package struct Binding {
    /// The whole member of the user's set; the token is its end.
    package var member: ByteSlice
    package var token: ByteSlice
    package var destination: Destination
    /// Bytes of the keys, which stand before the token; 0 for platforms without.
    package var keyCount: UInt8

    package init(
      member: ByteSlice, token: ByteSlice, keyCount: Int = 0, destination: Destination
    ) {
      self.member = member
      self.token = token
      self.keyCount = UInt8(truncatingIfNeeded: keyCount)
      self.destination = destination
    }
  }

  /// Somebody, or a device, that gets nothing of the event.
  package struct Withheld {
    package let user: ByteSlice
    /// `.missing`: none of the user's devices gets it.
    package let member: ByteSlice
    package let fate: NotedFate

    package init(user: ByteSlice, member: ByteSlice = .missing, fate: NotedFate) {
      self.user = user
      self.member = member
      self.fate = fate
    }
  }

  /// The profile fields of every recipient, in this order.
  package let fieldNames: [String]
  package let bytes = ByteArena(capacity: 64 * 1024)
  package var recipients: [Recipient] = []
  package var bindings: [Binding] = []
  /// `recipients.count × fieldNames.count` values, recipient by recipient; `.missing` where none is
  /// set.
  package var fields: [ByteSlice] = []
  /// Followers read for this page, with or without devices.
  package var followers = 0
  /// Bindings that are not addressed because a rule of their owner's, or of ours, says so.
  package var suppressed = SuppressionCounts()
  /// Users or members passed over because Redis held something else than the contract says.
  package var skipped = 0
  /// Users whose quiet hours went by the default time zone because nobody knows theirs.
  package var unknownZones = 0
  /// By name what `suppressed` counts, and users who are passed over.
  package var withheld: [Withheld] = []

  package init(fieldNames: [String]) { self.fieldNames = fieldNames }

  /// Takes out the bindings that are not to be kept, and recipients who have none left. Nothing is
  /// counted.
  package func keepBindings(_ isKept: (_ recipient: Int, _ binding: Binding) -> Bool) {
    var keptBindings: [Binding] = []
    var keptRecipients: [Recipient] = []
    var keptFields: [ByteSlice] = []
    let columns = fieldNames.count
    for (index, recipient) in recipients.enumerated() {
      let start = Int(recipient.firstBinding)
      let first = keptBindings.count
      for binding in bindings[start..<start + Int(recipient.bindingCount)]
      where isKept(index, binding) { keptBindings.append(binding) }
      guard keptBindings.count > first else { continue }
      keptRecipients.append(
        Recipient(
          user: recipient.user, firstBinding: first, bindingCount: keptBindings.count - first))
      keptFields += fields[index * columns..<(index + 1) * columns]
    }
    bindings = keptBindings
    recipients = keptRecipients
    fields = keptFields
  }

  package func field(_ index: Int, of recipient: Int) -> ByteSlice {
    fields[recipient * fieldNames.count + index]
  }
}
