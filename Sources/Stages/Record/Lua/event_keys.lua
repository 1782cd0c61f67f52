-- KEYS 1…7 of every script on an event: event, its settled segments, claims, planned segments of
-- stragglers, receipts, segments in the dead letters, its sums for the statistics.
local event, settled, claims, stragglers, receipts, dead, sums = unpack(KEYS, 1, 7)
