import Model

/// The values of a page, lent for as long as a batch is being filled: plain pointers, since
/// millions of them are read. Nothing is appended to the page meanwhile.
struct PageValues {
  private let bytes: UnsafeRawPointer
  /// Nil when the page was read without any field.
  private let fields: UnsafePointer<ByteSlice>?
  private let stride: Int
  private let columns: UnsafePointer<Int32>?

  /// `columns`: for each field of the template its place in a recipient's row, or -1 when the page
  /// has no such field.
  init(
    _ page: RecipientPage, fields: UnsafeBufferPointer<ByteSlice>,
    columns: UnsafeBufferPointer<Int32>
  ) {
    bytes = UnsafeRawPointer(page.bytes.base)
    stride = page.fieldNames.count
    let isComplete = fields.count >= page.recipients.count * stride
    self.fields = stride > 0 && isComplete ? fields.baseAddress : nil
    self.columns = columns.baseAddress
  }

  @inline(__always)
  func row(_ recipient: Int) -> RecipientValues {
    RecipientValues(
      bytes: bytes, row: fields.map { $0 + recipient * stride }, columns: columns)
  }
}
