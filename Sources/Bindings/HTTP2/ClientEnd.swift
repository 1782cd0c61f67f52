/// The end of a request, as it is remembered: nothing that counts references.
struct ClientEnd {
  let slot: Int32
  let status: Int32
  let errorCode: UInt32
  let wasSent: Bool
  let wasWhole: Bool
}
