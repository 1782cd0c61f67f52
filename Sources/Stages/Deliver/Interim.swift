import Model

extension DeliverStage {
  package func postponeWaiting(of tally: SegmentTally) {}
  package func abandon(_ tally: SegmentTally) {}
}
