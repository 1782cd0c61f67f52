extension LocalStack {
  /// Where a stack that stays has its servers, and what its configuration says beside them.
  package struct Place {
    let redisPort: Int
    /// Of Redis' files, in the directory of the run.
    let redisDirectory: String
    let kafkaPort: Int
    /// Sections of the configuration for other processes than a worker, each with a line break at
    /// its end.
    let sections: String

    package init(redisPort: Int, redisDirectory: String, kafkaPort: Int, sections: String) {
      self.redisPort = redisPort
      self.redisDirectory = redisDirectory
      self.kafkaPort = kafkaPort
      self.sections = sections
    }
  }
}
