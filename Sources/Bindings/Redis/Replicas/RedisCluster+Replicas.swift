/// Reads that may lag, of one master's keys.
extension RedisCluster {
  func read(
    _ part: ClusterRouting.Part, of execution: ClusterExecution, into replies: RedisReplies,
    from replicas: RedisReplicas
  ) {
    let timeout = execution.remaining(at: loop.now)
    replicas.read(execution.pipeline(of: part), replies, timeout: timeout) { answer in
      switch answer {
      case .whole(let missing): self.step(execution, .copied(part, replies, missing: missing))
      case .failed(let error): self.step(execution, .failed(part, error))
      case .none:
        // The master's answer may take as much.
        execution.allowance.giveBack(replies.byteCount)
        self.step(execution, .notCopied(part))
      }
    }
  }
}
