import Kafka

/// The polls of a consumer, by kind.
extension [KafkaPoll] {
  package var messages: [KafkaMessage] {
    compactMap { if case .message(let message) = $0 { message } else { nil } }
  }

  package var skipped: [KafkaPartition: [Range<Int64>]] {
    reduce(into: [:]) { all, next in
      if case .skipped(let partition, let offsets) = next {
        all[partition, default: []].append(offsets)
      }
    }
  }

  package func end(of partition: KafkaPartition) -> Int64? { ends[partition] }

  package var ends: [KafkaPartition: Int64] {
    reduce(into: [:]) { all, next in
      if case .end(let partition, let end) = next { all[partition] = end }
    }
  }

  package var errors: [KafkaError] {
    compactMap { if case .error(let error) = $0 { error } else { nil } }
  }

  package var assigned: [KafkaPartition] {
    flatMap { polled -> [KafkaPartition] in
      if case .assigned(let partitions) = polled { partitions } else { [] }
    }
  }

  package var revoking: [KafkaPartition] {
    flatMap { polled -> [KafkaPartition] in
      if case .revoking(let partitions) = polled { partitions } else { [] }
    }
  }

  package var revoked: [KafkaPartition] {
    flatMap { polled -> [KafkaPartition] in
      if case .revoked(let partitions) = polled { partitions } else { [] }
    }
  }

  package var lost: [KafkaPartition] {
    flatMap { polled -> [KafkaPartition] in
      if case .lost(let partitions) = polled { partitions } else { [] }
    }
  }

  package var committed: [KafkaPartition: Int64] {
    reduce(into: [:]) { all, next in
      if case .committed(let offsets) = next { all.merge(offsets) { $1 } }
    }
  }

  package var commitFailures: [KafkaError] {
    compactMap { if case .commitFailed(_, let error) = $0 { error } else { nil } }
  }

  package var reachable: [Bool] {
    compactMap { if case .reachable(let isReachable) = $0 { isReachable } else { nil } }
  }
}

extension KafkaMessage {
  package var text: String { String(decoding: value ?? [], as: UTF8.self) }
}
