import HTTP2
import JSON
import Kafka
import Redis
import TLS
import YAML

/// The libraries in use, for the report of a fault.
package enum LibraryVersions {
  /// As loaded at run time, except hiredis, which does not tell: as compiled against.
  package static var all: [(name: String, version: String)] {
    [
      ("librdkafka", KafkaVersion.string), ("nghttp2", HTTP2Version.string),
      ("openssl", TLSVersion.string), ("hiredis", RedisLibraryVersion.string),
      ("jansson", JSONLibraryVersion.string), ("libyaml", YAMLLibraryVersion.string),
    ]
  }
}
