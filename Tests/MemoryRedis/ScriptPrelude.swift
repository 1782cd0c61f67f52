/// The Lua that runs before any script: what Redis 7.0 gives scripts, and takes from them.
enum ScriptPrelude {
  /// Is called with `redis.call`, `redis.pcall`, `redis.sha1hex`, `redis.acl_check_cmd` and JSON's
  /// null. Answers what turns an error into a table, and the scripts' globals.
  ///
  /// `math.random` is refused, so that nobody's numbers depend on what ran before.
  static let source =
    """
    local call, pcall_command, sha1hex, acl_check_cmd, null = ...
    local getinfo, find, sub, gsub, format = debug.getinfo, string.find, string.sub, string.gsub,
      string.format
    local raw_pcall, select, type, error, tostring = pcall, select, type, error, tostring

    redis = {
      call = call, pcall = pcall_command, sha1hex = sha1hex, acl_check_cmd = acl_check_cmd,
      log = function() end, LOG_DEBUG = 0, LOG_VERBOSE = 1, LOG_NOTICE = 2, LOG_WARNING = 3,
      REDIS_VERSION = '7.0.15', REDIS_VERSION_NUM = 0x0007000f,
    }

    function redis.error_reply(...)
      local text = ...
      if select('#', ...) ~= 1 or type(text) ~= 'string' then
        return {err = 'ERR wrong number or type of arguments'}
      end
      if sub(text, 1, 1) == '-' then text = sub(text, 2) end
      text = gsub(gsub(text, '^[\\r\\n]+', ''), '[\\r\\n]+$', '')
      if not find(text, ' ', 1, true) then text = 'ERR ' .. text end
      return {err = text}
    end

    function redis.status_reply(...)
      local text = ...
      if select('#', ...) ~= 1 or type(text) ~= 'string' then
        return {err = 'ERR wrong number or type of arguments'}
      end
      return {ok = text}
    end

    function math.random() error('math.random is not available in this Redis', 2) end
    math.randomseed = math.random

    -- An error that is a table becomes its text.
    local function shown(is_done, problem, ...)
      if not is_done and type(problem) == 'table' and type(problem.err) == 'string' then
        return false, problem.err
      end
      return is_done, problem, ...
    end
    function pcall(...) return shown(raw_pcall(...)) end

    \(json)
    local removed = {'debug', 'dofile', 'getfenv', 'loadfile', 'module', 'newproxy', 'print',
      'require', 'setfenv'}
    for _, name in ipairs(removed) do _G[name] = nil end

    local globals = _G
    local scripts = setmetatable({}, {
      __index = globals,
      __newindex = function() error('Attempt to modify a readonly table', 2) end,
    })
    setmetatable(globals, {
      __index = function(_, name)
        error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'",
          2)
      end,
    })
    globals._G = scripts

    local function handler(problem)
      local level = 2
      local place = getinfo(level, 'Sl')
      while place and (place.what == 'C' or place.source == '=prelude') do
        level = level + 1
        place = getinfo(level, 'Sl')
      end
      if type(problem) ~= 'table' then problem = {err = 'ERR ' .. tostring(problem)} end
      if place then problem.source, problem.line = place.source, place.currentline end
      return problem
    end
    return handler, scripts
    """

  /// `cjson.encode` and `cjson.decode`, as Redis' lua-cjson writes and reads.
  private static let json =
    """
    local escapes = {['"'] = '\\\\"', ['\\\\'] = '\\\\\\\\', ['/'] = '\\\\/', ['\\b'] = '\\\\b',
      ['\\f'] = '\\\\f', ['\\n'] = '\\\\n', ['\\r'] = '\\\\r', ['\\t'] = '\\\\t',
      ['\\127'] = '\\\\u007f'}
    for code = 0, 31 do
      local byte = string.char(code)
      escapes[byte] = escapes[byte] or format('\\\\u%04x', code)
    end
    local function quoted(text)
      return '"' .. gsub(text, '[%z\\1-\\31"\\\\/\\127]', escapes) .. '"'
    end
    local encode
    local function length(value)
      local highest, count = 0, 0
      for key in pairs(value) do
        if type(key) ~= 'number' or key < 1 or key ~= math.floor(key) then return nil end
        highest, count = math.max(highest, key), count + 1
      end
      if highest > 10 and highest > 2 * count then
        error('Cannot serialise table: excessively sparse array', 0)
      end
      return highest > 0 and highest or nil
    end
    local function encode_table(value)
      local parts, count = {}, length(value)
      if count then
        for i = 1, count do parts[i] = encode(rawget(value, i)) end
        return '[' .. table.concat(parts, ',') .. ']'
      end
      for key, member in pairs(value) do
        local kind = type(key)
        if kind ~= 'string' and kind ~= 'number' then
          error('Cannot serialise table: table key must be a number or string', 0)
        end
        local name = kind == 'number' and '"' .. format('%.14g', key) .. '"' or quoted(key)
        parts[#parts + 1] = name .. ':' .. encode(member)
      end
      return '{' .. table.concat(parts, ',') .. '}'
    end
    function encode(value)
      local kind = type(value)
      if kind == 'string' then return quoted(value) end
      if kind == 'nil' or value == null then return 'null' end
      if kind == 'boolean' then return tostring(value) end
      if kind == 'table' then return encode_table(value) end
      if kind ~= 'number' then error('Cannot serialise ' .. kind .. ': type not supported', 0) end
      if value ~= value or value == math.huge or value == -math.huge then
        error('Cannot serialise number: must not be NaN or Inf', 0)
      end
      return format('%.14g', value)
    end

    local unescapes = {b = '\\b', f = '\\f', n = '\\n', r = '\\r', t = '\\t', ['"'] = '"',
      ['/'] = '/', ['\\\\'] = '\\\\'}
    local function utf8(code)
      local char, floor = string.char, math.floor
      if code < 0x80 then return char(code) end
      if code < 0x800 then return char(0xC0 + floor(code / 64), 0x80 + code % 64) end
      if code < 0x10000 then
        return char(0xE0 + floor(code / 4096), 0x80 + floor(code / 64) % 64, 0x80 + code % 64)
      end
      return char(0xF0 + floor(code / 262144), 0x80 + floor(code / 4096) % 64,
        0x80 + floor(code / 64) % 64, 0x80 + code % 64)
    end
    local decode_value
    local function fail(text, at)
      error('Expected value but found invalid token at character ' .. at, 0)
    end
    local function skip(text, at) return find(text, '[^ \\t\\r\\n]', at) or #text + 1 end
    local function decode_escape(text, at)
      local letter = sub(text, at, at)
      if unescapes[letter] then return unescapes[letter], at + 1 end
      local code = letter == 'u' and tonumber(string.match(text, '^%x%x%x%x', at + 1) or '', 16)
      if not code then fail(text, at) end
      at = at + 5
      if code >= 0xD800 and code < 0xDC00 then
        local low = tonumber(string.match(text, '^\\\\u(%x%x%x%x)', at) or '', 16)
        if not low or low < 0xDC00 or low > 0xDFFF then fail(text, at) end
        code, at = 0x10000 + (code - 0xD800) * 1024 + low - 0xDC00, at + 6
      end
      return utf8(code), at
    end
    local function decode_string(text, at)
      local parts = {}
      while true do
        local stop = find(text, '["\\\\]', at)
        if not stop then fail(text, at) end
        local piece = sub(text, at, stop - 1)
        if find(piece, '[%z\\1-\\31]') then fail(text, at) end
        parts[#parts + 1] = piece
        if sub(text, stop, stop) == '"' then return table.concat(parts), stop + 1 end
        parts[#parts + 1], at = decode_escape(text, stop + 1)
      end
    end
    local function decode_array(text, at)
      local array, count = {}, 0
      at = skip(text, at)
      if sub(text, at, at) == ']' then return array, at + 1 end
      while true do
        count = count + 1
        array[count], at = decode_value(text, at)
        at = skip(text, at)
        local letter = sub(text, at, at)
        if letter == ']' then return array, at + 1 end
        if letter ~= ',' then fail(text, at) end
        at = at + 1
      end
    end
    local function decode_object(text, at)
      local object, name = {}, nil
      at = skip(text, at)
      if sub(text, at, at) == '}' then return object, at + 1 end
      while true do
        at = skip(text, at)
        if sub(text, at, at) ~= '"' then fail(text, at) end
        name, at = decode_string(text, at + 1)
        at = skip(text, at)
        if sub(text, at, at) ~= ':' then fail(text, at) end
        object[name], at = decode_value(text, at + 1)
        at = skip(text, at)
        local letter = sub(text, at, at)
        if letter == '}' then return object, at + 1 end
        if letter ~= ',' then fail(text, at) end
        at = at + 1
      end
    end
    local words = {['true'] = true, ['false'] = false, null = null}
    function decode_value(text, at)
      at = skip(text, at)
      local letter = sub(text, at, at)
      if letter == '{' then return decode_object(text, at + 1) end
      if letter == '[' then return decode_array(text, at + 1) end
      if letter == '"' then return decode_string(text, at + 1) end
      local word = string.match(text, '^%a+', at)
      if word and words[word] ~= nil then return words[word], at + #word end
      local digits = string.match(text, '^-?%d+%.?%d*[eE]?[+-]?%d*', at)
      local number = tonumber(digits or '')
      if not number then fail(text, at) end
      return number, at + #digits
    end
    cjson = {null = null, encode = encode}
    function cjson.decode(text)
      local value, at = decode_value(text, 1)
      at = skip(text, at)
      if at <= #text then
        error('Expected the end but found invalid token at character ' .. at, 0)
      end
      return value
    end

    """
}
