#include "base/failure.hpp"

#include <exception>
#include <new>
#include <system_error>

#include "base/error.hpp"

namespace ziggurat {

Failure current_failure() {
    constexpr int lacking = static_cast<int>(ErrorKind::resource);
    try {
        throw;
    } catch (const Error& error) {
        return {error.what(), error.exit_code()};
    } catch (const std::bad_alloc&) {
        return {"out of memory. Free some, or use a smaller model or fewer ranks on this node.", lacking};
    } catch (const std::system_error& error) {
        return {std::string{"system call failed: "} + error.what() + ". Provide the resource it names.",
                lacking};
    } catch (const std::exception& error) {
        return {std::string{error.what()} +
                    " (a bug in ziggurat). Please report it with the command and the deck.",
                static_cast<int>(ErrorKind::internal)};
    }
}

}  // namespace ziggurat
