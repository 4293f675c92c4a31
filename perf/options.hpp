/// Options of the benchmarks: `--name value`, `--name=value`, comma-separated lists, and flags.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::perf {

/// Allowed values of an option: one of `words` if there are any, else a number within the bounds.
struct Allowed {
    std::vector<std::string> words;
    double min = -std::numeric_limits<double>::infinity();
    double max = std::numeric_limits<double>::infinity();
};

Allowed one_of(std::vector<std::string> words);
Allowed between(double min, double max);

class Options {
  public:
    /// \param summary  the first line of --help
    explicit Options(std::string summary) : summary_{std::move(summary)} {}

    /// Adds an option. `target` holds the default until the option is read.
    ///
    /// An option of a vector takes a comma-separated list, and each of its values must be allowed.
    void add(std::string name, int& target, Allowed allowed = {}, std::string doc = "");
    void add(std::string name, std::int64_t& target, Allowed allowed = {}, std::string doc = "");
    void add(std::string name, double& target, Allowed allowed = {}, std::string doc = "");
    void add(std::string name, std::string& target, Allowed allowed = {}, std::string doc = "");
    void add(std::string name, std::vector<int>& target, Allowed allowed = {}, std::string doc = "");
    void add(std::string name, std::vector<std::int64_t>& target, Allowed allowed = {}, std::string doc = "");
    void add(std::string name, std::vector<std::string>& target, Allowed allowed = {}, std::string doc = "");
    void add_flag(std::string name, bool& target, std::string doc = "");

    /// Reads the arguments.
    ///
    /// Errors: std::invalid_argument for an unknown name and for a value that is not allowed.
    void read(std::span<const std::string_view> arguments) const;

    /// Reads a command line. Ends the process with 0 after --help, and with 2 after an error.
    void read_or_exit(int argc, char** argv) const;

    std::string help() const;

  private:
    struct Option {
        std::string name;
        std::string doc;
        bool is_flag = false;
        std::function<void(std::string_view value)> set;
    };

    template <class T>
    void add_value(std::string name, T& target, Allowed allowed, std::string doc);
    template <class T>
    void add_list(std::string name, std::vector<T>& target, Allowed allowed, std::string doc);
    const Option& find(std::string_view name) const;

    std::string summary_;
    std::vector<Option> options_;
};

}  // namespace ziggurat::perf
