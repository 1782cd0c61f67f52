import COpenSSL
import Glibc

/// The owner and the validity of a certificate.
package struct CertificateContents: Sendable, Equatable {
  /// Apple: the bundle id, or the topic of a device management server (the subject's UID).
  package let subjectID: String?
  /// The topics that Apple lets its owner push to; nil for a certificate that lists none.
  package let topics: [String]?
  /// Apple's marks for certificates of one environment; a certificate for both has both.
  package let isForSandbox: Bool
  package let isForProduction: Bool
  /// Seconds since 1970.
  package let beginsAt: Int64
  package let expiresAt: Int64

  /// The topics that it lists, or the one of its owner.
  package var servedTopics: [String] { topics ?? subjectID.map { [$0] } ?? [] }

  /// Apple's extensions of certificates for pushes.
  static let topicsIdentifier = "1.2.840.113635.100.6.3.6"
  static let sandboxIdentifier = "1.2.840.113635.100.6.3.1"
  static let productionIdentifier = "1.2.840.113635.100.6.3.2"

  init(_ certificate: OpaquePointer) {
    subjectID = Self.subjectID(certificate)
    topics = Self.extensionBytes(certificate, Self.topicsIdentifier).flatMap {
      TopicList.topics(der: $0)
    }
    isForSandbox = Self.extensionBytes(certificate, Self.sandboxIdentifier) != nil
    isForProduction = Self.extensionBytes(certificate, Self.productionIdentifier) != nil
    beginsAt = Self.seconds(X509_get0_notBefore(certificate))
    expiresAt = Self.seconds(X509_get0_notAfter(certificate))
    ERR_clear_error()
  }

  /// 0 of what is no time.
  private static func seconds(_ written: UnsafePointer<ASN1_TIME>?) -> Int64 {
    var time = tm()
    return ASN1_TIME_to_tm(written, &time) == 1 ? Int64(timegm(&time)) : 0
  }

  private static func subjectID(_ certificate: OpaquePointer) -> String? {
    var text = [CChar](repeating: 0, count: 256)
    let count = X509_NAME_get_text_by_NID(
      X509_get_subject_name(certificate), NID_userId, &text, Int32(text.count))
    guard count > 0 else { return nil }
    return String(decoding: text.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func extensionBytes(_ certificate: OpaquePointer, _ name: String) -> [UInt8]? {
    guard let object = OBJ_txt2obj(name, 1) else { return nil }
    defer { ASN1_OBJECT_free(object) }
    let place = X509_get_ext_by_OBJ(certificate, object, -1)
    guard place >= 0, let found = X509_get_ext(certificate, place),
      let data = X509_EXTENSION_get_data(found), let start = ASN1_STRING_get0_data(data)
    else { return nil }
    return Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(data))))
  }
}
