"""The SQLite functions that untrusted SQL may call: those that only compute."""

# Without `trim` and similar ones, `json_pretty`, `median`, `percentile`: a call can take seconds and cannot be stopped.
_SCALAR = """
    abs char coalesce format glob hex ifnull iif instr length like lower max min nullif printf quote random randomblob
    replace round sign soundex substr substring typeof unhex unicode upper zeroblob octet_length concat concat_ws if
    unistr
"""
_AGGREGATE = """
    avg count group_concat string_agg sum total
    row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value
"""
_TIME = "date time datetime julianday unixepoch strftime timediff current_date current_time current_timestamp"
_JSON = """
    json json_array json_array_length json_extract json_object json_quote json_type json_valid json_group_array
    json_group_object json_error_position -> ->>
"""
_MATH = """
    acos asin atan atan2 ceil ceiling cos degrees exp floor ln log log10 log2 mod pi pow power radians sin sqrt tan trunc
"""
FUNCTIONS = frozenset(f"{_SCALAR} {_AGGREGATE} {_TIME} {_JSON} {_MATH}".split())
TABLE_FUNCTIONS = ("json_each", "json_tree")
