/// Carries an object of a loop through code of another thread, which must not look at it.
///
/// Unchecked: `value` is read on the object's own loop alone, where the resolver brings it back.
struct LoopConfined<Value: AnyObject>: @unchecked Sendable {
  weak var value: Value?

  init(_ value: Value) { self.value = value }
}
