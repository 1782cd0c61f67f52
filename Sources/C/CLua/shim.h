#pragma once
#include <lua5.1/lua.h>
#include <lua5.1/lauxlib.h>
#include <lua5.1/lualib.h>
#include <stdint.h>
#include <stdio.h>

// Lua 5.1 for tests: the language of Redis' scripts. An error of Lua jumps over the C frames above
// it, and must find no Swift frame among them: what Swift answers is turned into a jump here.

// A function of ours: takes its arguments from the stack, and pushes its results. It answers their
// number, or -1 after it has pushed an error.
typedef int (*clua_function)(void *context, lua_State *state);

typedef struct {
  clua_function function;
  void *context;
} clua_closure;

static int clua_call(lua_State *state) {
  clua_closure *closure = (clua_closure *)lua_touserdata(state, lua_upvalueindex(1));
  int count = closure->function(closure->context, state);
  if (count < 0) return lua_error(state);
  return count;
}

// Pushes the function. `context` must outlive the state.
static inline void clua_push(lua_State *state, clua_function function, void *context) {
  clua_closure *closure = (clua_closure *)lua_newuserdata(state, sizeof(clua_closure));
  closure->function = function;
  closure->context = context;
  lua_pushcclosure(state, clua_call, 1);
}

static inline void clua_open(lua_State *state, lua_CFunction library, const char *name) {
  lua_pushcclosure(state, library, 0);
  lua_pushstring(state, name);
  lua_call(state, 1, 0);
}

static inline void clua_open_libraries(lua_State *state) {
  clua_open(state, luaopen_base, "");
  clua_open(state, luaopen_table, LUA_TABLIBNAME);
  clua_open(state, luaopen_string, LUA_STRLIBNAME);
  clua_open(state, luaopen_math, LUA_MATHLIBNAME);
  clua_open(state, luaopen_debug, LUA_DBLIBNAME);
}

// The numbers of Redis' module `bit` are 32 bits, and wrap.
static inline uint32_t clua_bits(lua_State *state, int index) {
  return (uint32_t)(int64_t)luaL_checknumber(state, index);
}

static int clua_band(lua_State *state) {
  uint32_t bits = clua_bits(state, 1);
  for (int index = lua_gettop(state); index > 1; index--) bits &= clua_bits(state, index);
  lua_pushnumber(state, (int32_t)bits);
  return 1;
}

static int clua_bor(lua_State *state) {
  uint32_t bits = clua_bits(state, 1);
  for (int index = lua_gettop(state); index > 1; index--) bits |= clua_bits(state, index);
  lua_pushnumber(state, (int32_t)bits);
  return 1;
}

static int clua_bxor(lua_State *state) {
  uint32_t bits = clua_bits(state, 1);
  for (int index = lua_gettop(state); index > 1; index--) bits ^= clua_bits(state, index);
  lua_pushnumber(state, (int32_t)bits);
  return 1;
}

static int clua_bnot(lua_State *state) {
  lua_pushnumber(state, (int32_t)~clua_bits(state, 1));
  return 1;
}

static int clua_lshift(lua_State *state) {
  lua_pushnumber(state, (int32_t)(clua_bits(state, 1) << (clua_bits(state, 2) & 31)));
  return 1;
}

static int clua_rshift(lua_State *state) {
  lua_pushnumber(state, (int32_t)(clua_bits(state, 1) >> (clua_bits(state, 2) & 31)));
  return 1;
}

// Sets the global `bit`.
static inline void clua_open_bit(lua_State *state) {
  static const luaL_Reg functions[] = {
    {"band", clua_band}, {"bor", clua_bor}, {"bxor", clua_bxor}, {"bnot", clua_bnot},
    {"lshift", clua_lshift}, {"rshift", clua_rshift}, {NULL, NULL},
  };
  luaL_register(state, "bit", functions);
  lua_settop(state, 0);
}

// As Redis writes a number of Lua's or a score: at most 24 characters and a NUL.
static inline int clua_format(double number, char *text, size_t capacity) {
  return snprintf(text, capacity, "%.17g", number);
}

static inline int clua_globals(void) { return LUA_GLOBALSINDEX; }
static inline int clua_registry(void) { return LUA_REGISTRYINDEX; }
static inline void clua_pop(lua_State *state, int count) { lua_settop(state, -count - 1); }
