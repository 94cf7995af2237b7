// A value or the reason why the world refused it, shaped like std::expected (C++23).
#ifndef CPROF_FORMAT_RESULT_H_
#define CPROF_FORMAT_RESULT_H_

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace cprof {

// A refusal, built where the fact is known and printed once, by cmd:
//   cprof: error: <message>
//   cprof: hint: <hint>          (only where there is something to do about it)
struct Error {
  std::string message;  // what, on which thing, why; no full stop
  std::string hint;     // what the user can do; may be empty
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace cprof

// Returns the error of a Result from the enclosing function.
#define CPROF_RETURN_IF_ERROR(expression)        \
  do {                                           \
    if (auto result_ = (expression); !result_) { \
      return result_.error();                    \
    }                                            \
  } while (false)

// A bug of ours, never a state of the world: says where, and stops.
#define CPROF_CHECK(condition)                                                          \
  do {                                                                                  \
    if (!(condition)) {                                                                 \
      std::fprintf(stderr, "cprof: bug: %s:%d: %s does not hold\n", __FILE__, __LINE__, \
                   #condition);                                                         \
      std::abort();                                                                     \
    }                                                                                   \
  } while (false)

#endif  // CPROF_FORMAT_RESULT_H_
