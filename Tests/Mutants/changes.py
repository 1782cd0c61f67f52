"""The small changes that a line of Swift or Lua can be broken by.

Works on tokens, not on a syntax tree: a span that is no expression, or a change of the wrong type,
does not compile, and the draw takes the next one.
"""

import collections
import re

# `kind` is how a switch is written (see run); `what` names the change in a report.
Change = collections.namedtuple("Change", "file line start end replacement kind what")

TOKEN = re.compile(r"\"+[^\"\n]*\"+|0[xb][0-9a-fA-F_]+|\d[\d_]*(?:\.\d[\d_]*)?|[@#$]?\w+"
                   r"|[-+*/%<>=!&|^~?]+|\.{2,3}<?|[.,:;(){}\[\]]|\\")
OPENERS = {"(": ")", "[": "]", "{": "}"}
CLOSERS = {closer: opener for opener, closer in OPENERS.items()}
LEVELS = {}
for level, operators in enumerate([
        "= += -= *= /= %= |= &= ^= ->", "?", "||", "&&", "< <= > >= == != === !==", "??",
        "..< ...", "+ - &+ &- | ^", "* / % & &*", "<< >> &<< &>>"]):
    LEVELS.update(dict.fromkeys(operators.split(), level))
STARTERS = set("return if guard while where in case let var else throw switch for default do catch "
               "defer repeat yield".split())
DECLARATIONS = STARTERS - {"return"} | set(
    "func init deinit struct enum class actor extension protocol typealias import subscript static "
    "private fileprivate package public internal override final lazy weak unowned nonisolated "
    "mutating convenience required indirect borrowing consuming associatedtype get set willSet "
    "didSet".split())
COMPARISONS = {
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
    "==": ["!="], "!=": ["=="], "===": ["!=="], "!==": ["==="]}
ARITHMETIC = {
    "+": "-", "-": "+", "*": "/", "/": "*", "&+": "&-", "&-": "&+", "%": "/", "&&": "||",
    "||": "&&", "<<": ">>", ">>": "<<", "|": "&", "&": "|"}
ASSIGNMENTS = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "|=": "&=", "&=": "|="}
UNITS = {"seconds": "milliseconds", "milliseconds": "seconds", "microseconds": "milliseconds",
         "nanoseconds": "microseconds"}
SIBLINGS = {
    "first": "last", "last": "first", "min": "max", "max": "min", "prefix": "suffix",
    "suffix": "prefix", "dropFirst": "dropLast", "dropLast": "dropFirst",
    "lowerBound": "upperBound", "upperBound": "lowerBound", "startIndex": "endIndex",
    "endIndex": "startIndex", "hasPrefix": "hasSuffix", "hasSuffix": "hasPrefix",
    "allSatisfy": "contains", "isEmpty": "isEmpty == false"}
LUA = re.compile(r"(?<= )(==|~=|<=|>=|<|>|and|or|\+|-)(?= )|\b(true|false)\b|\bnot "
                 r"|(?<![\w.'])\d+\b")
LUA_TWINS = {
    "==": ["~="], "~=": ["=="], "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="],
    ">=": [">", "<"], "and": ["or"], "or": ["and"], "+": ["-"], "-": ["+"], "true": ["false"],
    "false": ["true"], "not ": [""]}


def masked(source):
    """The text with comments and strings blanked, one string as quotes around as many blanks, and
    the spans of what is inside of strings of several lines."""
    text, position, blocks = [], 0, []
    while position < len(source):
        two, three = source[position:position + 2], source[position:position + 3]
        end = None
        if two == "//":
            end = source.find("\n", position)
            end = len(source) if end < 0 else end
            text.append(" " * (end - position))
        elif two == "/*":
            end = source.index("*/", position) + 2
            text.append(blank(source[position:end]))
        elif three == '"""':
            end = closing(source, position + 3, '"""')
            blocks.append((position + 3, end - 3))
            text.append('"' + blank(source[position + 1:end - 1]) + '"')
        elif re.match(r'#+"', source[position:position + 4]):
            hashes = re.match("#+", source[position:])[0]
            quote = '"""' if source.startswith(hashes + '"""', position) else '"'
            begin = position + len(hashes + quote)
            end = source.index(quote + hashes, begin) + len(quote + hashes)
            text.append('"' + blank(source[position + 1:end - 1]) + '"')
        elif two[0] == '"':
            end = closing(source, position + 1, '"')
            text.append('"' + " " * (end - position - 2) + '"')
        if end is None:
            text.append(source[position])
            position += 1
        else:
            position = end
    return "".join(text), blocks


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def closing(source, position, quote):
    """Behind the end of a string, over what is put into it."""
    while not source.startswith(quote, position):
        if source[position] == "\\" and source[position + 1] == "(":
            depth, position = 1, position + 2
            while depth:
                if source[position] == '"':
                    position = closing(source, position + 1, '"') - 1
                depth += {"(": 1, ")": -1}.get(source[position], 0)
                position += 1
        else:
            position += 2 if source[position] == "\\" else 1
    return position + len(quote)


class Token(collections.namedtuple("Token", "text start end is_spaced")):
    @property
    def is_binary(self):
        return self.is_spaced or self.text in {"..<", "..."}


class SwiftFile:
    def __init__(self, name, source):
        self.name = name
        self.source = source
        mask, self.blocks = masked(source)
        self.tokens = []
        for found in TOKEN.finditer(mask):
            start, end = found.span()
            around = mask[start - 1:start] + mask[end:end + 1]
            self.tokens.append(Token(found[0], start, end, around.strip() == "" and start > 0))
        self.mask = mask
        self.partners = self.pair()
        self.line_starts = [0] + [match.end() for match in re.finditer("\n", source)]

    def pair(self):
        partners, stack = {}, []
        for index, token in enumerate(self.tokens):
            if token.text in OPENERS:
                stack.append(index)
            elif token.text in CLOSERS and stack:
                partners[index] = stack.pop()
                partners[partners[index]] = index
        return partners

    def line(self, position):
        low, high = 0, len(self.line_starts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.line_starts[middle] <= position else (low, middle)
        return low + 1

    def change(self, first, last, replacement, what, kind="expression"):
        start, end = self.tokens[first].start, self.tokens[last].end
        return Change(self.name, self.line(start), start, end, replacement, kind, what)

    def text(self, first, last):
        return self.source[self.tokens[first].start:self.tokens[last].end]

    def is_break(self, index):
        """Whether a statement may end between this token and the next."""
        if index + 1 >= len(self.tokens):
            return True
        token, follower = self.tokens[index], self.tokens[index + 1]
        if "\n" not in self.mask[token.end:follower.start]:
            return False
        if token.text in OPENERS or token.text in {",", ".", ":"}:
            return False
        if token.text in STARTERS - {"return", "default"}:
            return False
        if token.text in LEVELS and token.is_spaced or token.text in {"try", "await"}:
            return False
        return not (follower.text in LEVELS and follower.is_spaced
                    or follower.text in {".", ":", ",", "else", "where", "catch"})

    def is_controlled(self, index):
        """Whether a brace to the right opens the body of an `if` and the like."""
        while index > 0 and not self.is_break(index - 1):
            index -= 1
            text = self.tokens[index].text
            if text in CLOSERS:
                index = self.partners.get(index, 0)
            elif text in OPENERS:
                return False
            elif text in {"if", "guard", "while", "for", "switch", "else"}:
                return True
        return False

    def left(self, index, level):
        """The first token of the operand that ends before `index`, of operators of that level."""
        while index > 0 and not self.is_break(index - 1):
            token = self.tokens[index - 1]
            if token.text in CLOSERS:
                if index - 1 not in self.partners:
                    break
                index = self.partners[index - 1]
                continue
            if token.text in OPENERS or token.text in {",", ";", ":"} or token.text in STARTERS:
                break
            if LEVELS.get(token.text, 99) < level and token.is_binary:
                break
            index -= 1
        return index

    def right(self, index, level):
        """The last token of the operand that begins after `index`."""
        controlled = self.is_controlled(index)
        while index + 1 < len(self.tokens):
            token = self.tokens[index + 1]
            if index > 0 and self.is_break(index):
                break
            if token.text in OPENERS:
                if token.text == "{" and controlled or index + 1 not in self.partners:
                    break
                index = self.partners[index + 1]
                continue
            if token.text in CLOSERS or token.text in {",", ";", ":"} or token.text in STARTERS:
                break
            if LEVELS.get(token.text, 99) < level and token.is_binary:
                break
            index += 1
        return index

    def base(self, index):
        """The first token of the chain of names, calls and dots that ends at `index`."""
        while index > 0:
            token, before = self.tokens[index], self.tokens[index - 1]
            if token.text in CLOSERS:
                index = self.partners.get(index, index)
                before = self.tokens[index - 1]
                if token.text == ")" and before.end < self.tokens[index].start:
                    return index
                if token.text != "}" and before.end < self.tokens[index].start:
                    return index
            if before.text in {".", "?", "!", "?."} and not before.is_spaced:
                index -= 1
            elif self.tokens[index].text in {".", "?", "!", "(", "[", "{"} and (
                    before.end == self.tokens[index].start or self.tokens[index].text == "{") and (
                    re.fullmatch(r"\w+", before.text) and before.text not in STARTERS
                    or before.text in {")", "]", "?", "!", "}"}):
                index -= 1
            elif self.tokens[index].text == "." and before.text in {")", "]", "}"}:
                index -= 1
            else:
                return index
        return index

    # What each token can become.

    def changes(self):
        for index, token in enumerate(self.tokens):
            yield from self.of_operator(index, token)
            yield from self.of_literal(index, token)
            yield from self.of_name(index, token)
            yield from self.of_condition(index, token)
            yield from self.of_statement(index, token)
            yield from self.of_brackets(index, token)

    def of_operator(self, index, token):
        text = token.text
        if text in {"..<", "..."} and index + 1 < len(self.tokens):
            last = self.right(index, LEVELS[text] + 1)
            if last > index:
                bound = self.text(index + 1, last)
                for sign in "+-":
                    what = f"{bound} becomes {bound} {sign} 1"
                    yield self.change(index + 1, last, f"({bound}) {sign} 1", what)
        if not token.is_spaced:
            return
        twins = COMPARISONS.get(text) or ([ARITHMETIC[text]] if text in ARITHMETIC else [])
        if twins:
            first, last = self.left(index, LEVELS[text]), self.right(index, LEVELS[text])
            for twin in twins:
                changed = (self.source[self.tokens[first].start:token.start] + twin
                           + self.source[token.end:self.tokens[last].end])
                yield self.change(first, last, changed, f"{text} becomes {twin}")
        if text == "?":
            first = self.left(index, LEVELS["||"])
            yield self.change(
                first, index - 1, f"!({self.text(first, index - 1)})", "the choice is negated")
        if text in ASSIGNMENTS:
            first, last = self.left(index, 0), self.right(index, 0)
            changed = (self.source[self.tokens[first].start:token.start] + ASSIGNMENTS[text]
                       + self.source[token.end:self.tokens[last].end])
            yield self.change(
                first, last, changed, f"{text} becomes {ASSIGNMENTS[text]}", "statement")

    def of_literal(self, index, token):
        text, before = token.text, self.tokens[index - 1] if index else None
        if text in {"true", "false"}:
            twin = {"true": "false", "false": "true"}[text]
            yield self.change(index, index, twin, f"{text} becomes {twin}")
        elif re.fullmatch(r"\d[\d_]*(\.\d+)?", text):
            if before and before.text == "." and before.end == token.start:
                return
            if "." in text:
                yield self.change(index, index, f"{text} * 10", f"{text} becomes tenfold")
                return
            value = int(text.replace("_", ""))
            others = {value + 1, max(0, value - 1), value * 10 if value > 1 else value}
            for other in sorted(others - {value}):
                yield self.change(index, index, str(other), f"{text} becomes {other}")
        elif text.startswith('"') and token.start not in {start - 3 for start, _ in self.blocks}:
            content = self.source[token.start + 1:token.end - 1]
            if 0 < len(content) <= 24 and not re.search(r'[ \\"]', content):
                yield self.change(index, index, '""', f'"{content}" becomes ""')

    def of_name(self, index, token):
        text = token.text
        follower = self.tokens[index + 1].text if index + 1 < len(self.tokens) else ""
        has_dot = index > 0 and self.tokens[index - 1].text == "."
        if text in UNITS and has_dot and follower == "(" and index + 1 in self.partners:
            last = self.partners[index + 1]
            first = self.base(index)
            changed = (self.source[self.tokens[first].start:token.start] + UNITS[text]
                       + self.source[token.end:self.tokens[last].end])
            yield self.change(first, last, changed, f"{text} become {UNITS[text]}")
        if text in SIBLINGS:
            last = self.partners.get(index + 1, index) if follower == "(" else index
            if follower in {":", "{"} or not has_dot and follower != "(":
                return
            first = self.base(index)
            changed = (self.source[self.tokens[first].start:token.start] + SIBLINGS[text]
                       + self.source[token.end:self.tokens[last].end])
            yield self.change(first, last, changed, f"{text} becomes {SIBLINGS[text]}")

    def of_condition(self, index, token):
        if token.text not in {"if", "guard", "while"}:
            return
        begin = index + 1
        while begin < len(self.tokens):
            last = self.right(begin - 1, LEVELS["||"])
            if last < begin:
                return
            name = self.tokens[begin].text
            if name not in {"let", "var", "case"} and not name.startswith("#"):
                condition = self.text(begin, last)
                yield self.change(begin, last, f"!({condition})", "the condition is negated")
                yield self.change(begin, last, "true", "the condition is dropped")
            # To the next of the conditions: over what a binding takes its value from.
            ends = {",", "{", "else"}
            while last + 1 < len(self.tokens) and self.tokens[last + 1].text not in ends:
                step = self.right(last + 1, 0)
                last = max(step, last + 1)
            if last + 1 >= len(self.tokens) or self.tokens[last + 1].text != ",":
                return
            begin = last + 2

    def of_statement(self, index, token):
        before = self.tokens[index - 1] if index else None
        opens = before and (before.text == "{" or before.text == "in" or self.is_break(index - 1))
        if not opens or token.text in DECLARATIONS | CLOSERS.keys() or token.text[0] in '@#"':
            return
        last = index
        while not self.is_break(last):
            step = self.tokens[last + 1]
            if step.text in CLOSERS or step.text == ";":
                break
            last = self.partners.get(last + 1, last + 1) if step.text in OPENERS else last + 1
        if token.text in OPENERS:
            last = max(last, self.partners.get(index, index))
        statement = self.text(index, last)
        if token.text == "return":
            yield from self.of_return(index, last)
        elif token.text in {"continue", "break"} or last > index and (
                self.tokens[last].text in {")", "}"} or any(
                    LEVELS.get(each.text) == 0 and each.is_spaced
                    for each in self.tokens[index:last])):
            first_line = statement.partition("\n")[0]
            yield self.change(index, last, "", f"dropped: {first_line}", "statement")

    def of_return(self, index, last):
        if last == index:
            yield self.change(index, last, "", "dropped: return", "statement")
            return
        above = self.source[:self.tokens[index].start]
        types = re.findall(r"(?:-> |\bvar \w+: )([^{\n]+?) (?=\{)", above)
        result = types[-1] if types else ""
        value = self.text(index + 1, last)
        default = ("nil" if result.endswith("?") else f"!({value})" if result == "Bool"
                   else "[:]" if result.startswith("[") and ":" in result
                   else "[]" if result.startswith("[") else '""' if result == "String"
                   else "0" if re.fullmatch(r"U?Int\d*|Double", result) else None)
        if default and default != value:
            what = "the opposite" if default[0] == "!" else default
            yield self.change(index + 1, last, default, f"returns {what}")

    def of_brackets(self, index, token):
        if token.text not in {"(", "["} or index == 0 or index not in self.partners:
            return
        before, last = self.tokens[index - 1], self.partners[index]
        if before.end != token.start or not re.fullmatch(r"\w+|[)\]?!]", before.text):
            return
        arguments, begin = [], index + 1
        at = index + 1
        while at <= last:
            if at == last or self.tokens[at].text == ",":
                if at > begin:
                    arguments.append((begin, at - 1))
                begin = at + 1
            elif self.tokens[at].text in OPENERS:
                at = self.partners.get(at, at)
            at += 1
        if token.text == "[":
            if len(arguments) == 1 and not re.search(r'[:"]|\.\.', self.text(*arguments[0])):
                place = self.text(*arguments[0])
                for sign in "+-":
                    what = f"[{place}] becomes [{place} {sign} 1]"
                    yield self.change(*arguments[0], f"({place}) {sign} 1", what)
            return
        labelled = [(one, two) for one, two in arguments
                    if two > one + 1 and self.tokens[one + 1].text == ":"]
        first = self.base(index - 1)
        if self.tokens[first - 1].text in {"func", "init", "case"} or before.text == "init":
            return
        head = self.source[self.tokens[first].start:self.tokens[index].end]
        for dropped in labelled:
            rest = ", ".join(self.text(*each) for each in arguments if each != dropped)
            name = self.tokens[dropped[0]].text
            change = self.change(first, last, f"{head}{rest})", f"without the argument {name}")
            yield change._replace(line=self.line(self.tokens[dropped[0]].start))
        plain = [each for each in arguments if each not in labelled]
        if len(plain) == 2 == len(arguments) and self.text(*plain[0]) != self.text(*plain[1]):
            swapped = f"{head}{self.text(*plain[1])}, {self.text(*plain[0])})"
            yield self.change(first, last, swapped, "the arguments are swapped")


class LuaFile:
    def __init__(self, name, source):
        self.name = name
        self.source = source

    def changes(self):
        position = 0
        for number, line in enumerate(self.source.splitlines(keepends=True), 1):
            if not line.strip().startswith("--"):
                yield from self.of_line(line, number, position)
            position += len(line)

    def of_line(self, line, number, position):
        def change(start, end, replacement, what):
            return Change(self.name, number, position + start, position + end,
                          replacement, "text", what)

        code = re.sub(r"'[^'\n]*'", lambda found: "'" + " " * (len(found[0]) - 2) + "'", line)
        code = code.partition("--")[0]
        for found in LUA.finditer(code):
            text = found[0]
            twins = LUA_TWINS.get(text)
            if not twins:
                twins = [str(int(text) + step) for step in (1, -1) if int(text) + step >= 0]
            for twin in twins:
                yield change(*found.span(), twin, f"{text.strip()} becomes {twin or 'nothing'}")
        call = re.fullmatch(r"\s*((?:redis\.p?call|try|count|\w+)\(.*\))\s*", code)
        if call and call[1].count("(") == call[1].count(")"):
            yield change(*call.span(1), "", f"dropped: {line.strip()}")
        condition = re.search(r"\bif (.*) then", code)
        if condition:
            text = line[condition.start(1):condition.end(1)]
            yield change(*condition.span(1), f"not ({text})", "the condition is negated")


def changes_by_line(files):
    """What each line can become, by file and line; a line without any is none to draw."""
    found = {}
    for name, source in files:
        kind = LuaFile if name.endswith(".lua") else SwiftFile
        for change in kind(name, source).changes():
            found.setdefault((name, change.line), []).append(change)
    return found
