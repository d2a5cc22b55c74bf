-- Adds a cost to the minute and the hour of a key unless that exceeds a limit.
-- KEYS: the counters of the minute and the hour. ARGV: the cost, the limits of
-- the minute and the hour, and the seconds after which each counter expires.
-- Returns 1 if the cost was added, else 0, and both counts.
local cost = tonumber(ARGV[1])
local minute = tonumber(redis.call('GET', KEYS[1]) or 0)
local hour = tonumber(redis.call('GET', KEYS[2]) or 0)
if minute + cost > tonumber(ARGV[2]) or hour + cost > tonumber(ARGV[3]) then
  return {0, minute, hour}
end
minute = redis.call('INCRBY', KEYS[1], cost)
hour = redis.call('INCRBY', KEYS[2], cost)
redis.call('EXPIRE', KEYS[1], ARGV[4])
redis.call('EXPIRE', KEYS[2], ARGV[5])
return {1, minute, hour}
