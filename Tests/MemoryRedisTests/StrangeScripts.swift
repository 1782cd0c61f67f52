/// Scripts that try what Redis gives scripts and takes from them: conversions both ways, errors and
/// their words, what is not there.
enum StrangeScripts {
  static let all: [ScriptCase] = bodies.enumerated().map { index, body in
    ScriptCase("strange \(index)", body) { dice in
      let keys = [dice.pick(RandomCommands.keys), dice.pick(RandomCommands.keys)]
      return ScriptCase.Call(keys: keys, positional: [dice.count(), dice.pick(["a", "1.5", ""])])
    }
  }

  private static let bodies = [
    "return", "return nil", "return false", "return true", "return 3.99", "return -3.99",
    "return 1e17", "return math.huge", "return 'x'", "return ''", "return {}",
    "return {1, 2.5, 'a', true, false, nil, 3}", "return {{1, {2}}, {}}", "return {ok = 'fine'}",
    "return {err = 'MY problem'}", "return {'a', {ok = 'b'}, {err = 'c d'}}",
    "return redis.error_reply('x')", "return redis.error_reply('-CODE y z')",
    "return redis.error_reply()", "return redis.status_reply('s')", "return redis.sha1hex(ARGV[2])",
    "return {redis.sha1hex()}", "return KEYS", "return ARGV", "return #ARGV[1]",
    "return ARGV[1] + 1", "return ARGV[2] + 1", "return redis.call('GET', KEYS[1])",
    "return redis.pcall('GET', KEYS[1])", "local a = redis.call('HGETALL', KEYS[1]) return #a",
    "\n\nlocal a = redis.call('HINCRBY', KEYS[1], 'm1', ARGV[1])\nreturn a",
    "local a = redis.pcall('HINCRBY', KEYS[1], 'm1', ARGV[2]) return a.err or a",
    "return redis.call('FOO')", "local a = redis.call('FOO', 1) return a",
    "return redis.pcall('FOO')", "return redis.call('GET')", "return redis.pcall('GET').err",
    "return redis.call()", "return redis.call(nil)", "return redis.call('SET', KEYS[1], {})",
    "return redis.call('EVAL', 'return 1', 0)", "return redis.call('CLIENT', 'ID')",
    "return redis.call('SET', KEYS[1], 1e17)", "return redis.call('SET', KEYS[1], 0.1)",
    "return redis.call('SET', KEYS[1], -0.0)", "return redis.call('SET', KEYS[1], 123456789012)",
    "return redis.call('SET', KEYS[1], 1e15 + 1)", "return redis.call('INCRBY', KEYS[1], 2.0)",
    "return redis.call('INCRBY', KEYS[1], 2.5)", "return redis.call('TYPE', KEYS[1])",
    "return redis.call('TYPE', KEYS[1])['ok']", "return redis.call('TIME')",
    "return redis.call('SET', KEYS[1], 'v', 'NX')", "return redis.call('PING', 1, 2)",
    "return nowhere", "nowhere = 1", "KEYS = 1", "string.nothing()", "local x = nil return x.y",
    "return 'a' + 1", "return {} < 1", "error('boo')", "error('boo', 0)", "error({err = 'MY boo'})",
    "local function f() error('deep') end\nlocal function g()\n f()\nend\ng()\nreturn 1",
    "local ok, e = pcall(redis.call, 'FOO') return {type(e), e}",
    "local ok, e = pcall(error, 'x') return {tostring(ok), e}",
    "local ok, e = pcall(error, {1}) return {tostring(ok), type(e)}",
    "return {pcall(function(a) return a, 2 end, 1) and 1 or 0}",
    "x y", "return (", "return redis.acl_check_cmd('FOO')", "return redis.acl_check_cmd()",
    "return redis.acl_check_cmd('HINCRBY', KEYS[1], 'f', '1')",
    "return redis.acl_check_cmd('hget', KEYS[1], 'f')",
    "return cjson.encode({'a/\"\\\\\\n\\t\\127\\1', 1, 2.5, 1e20, true, cjson.null, {a = 1}})",
    "return cjson.encode({})", "return cjson.encode({[3] = 1})", "return cjson.encode(ARGV)",
    "return cjson.decode('[1, \"x\", {\"a\": [true, null]}, -2.5e1]')[4]",
    "return cjson.decode('{\"a\": {\"b\": \"\\\\u00e9\\\\ud83d\\\\ude00\"}}').a.b",
    "return pcall(cjson.decode, '[1') and 1 or 0",
    "return pcall(cjson.decode, '{\"a\"}') and 1 or 0",
    "return #cjson.decode('[]')", "return tostring(cjson.decode('[null]')[1] == cjson.null)",
    "return {bit.bnot(5), bit.band(12, 10, 14), bit.bor(1, 2), bit.bxor(-1, 255)}",
    "return {bit.lshift(1, 31), bit.rshift(-1, 28), bit.rshift(bit.bnot(0), 1)}",
    "return {tostring(2^53), tostring(0.1), tostring(1e15), 2^31 .. ''}",
    "return {type(os), 1}", "return {type(rawget(_G, 'io')), type(rawget(_G, 'print'))}",
    "return string.format('%.0f %d %s', 2^53, 3, 'x')",
    "return {string.match('a 12 34', '^(.*) (%d+) (%d+)$')}",
    "local t = {} for w in string.gmatch('b a', '%S+') do t[#t + 1] = w end table.sort(t) return t",
    "return unpack({1, 2, 3}, 2)", "return select('#', 1, nil, nil)",
    "redis.call('DEL', KEYS[1], KEYS[2]) return redis.call('HSET', KEYS[1], 'a', ARGV[1])",
    "redis.call('PEXPIRE', KEYS[1], ARGV[1]) return redis.call('PTTL', KEYS[1])",
    "return redis.call('ZADD', KEYS[1], ARGV[1], 'm1', 2.5, 'm2')",
    "return redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'f', ARGV[2])",
    "return redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 2)",
    "return redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 0)",
    "for i = 1, 3 do redis.call('SADD', KEYS[1], i) end return redis.call('SCARD', KEYS[1])",
  ]
}
