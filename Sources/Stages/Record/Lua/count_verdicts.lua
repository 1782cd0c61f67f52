-- Counts the verdicts of a segment that goes on. Needs `event` and what that needs, with its keys
-- and arguments, and `verdict_counts`, with its arguments.
if redis.call('EXISTS', event) == 0 then create('running') end
count_verdicts(false)
keep()
return {'counted'}
