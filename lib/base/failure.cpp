#include "base/failure.hpp"

#include <exception>
#include <new>
#include <system_error>

#include "base/error.hpp"
#include "base/stop_check.hpp"
#include "base/text/message.hpp"

namespace ziggurat {

std::string message_of(const Failure& failure) {
    const bool is_stop = failure.exit_code == exit_code_run_again;
    return message(is_stop ? Severity::note : Severity::error, failure.problem);
}

Failure current_failure() {
    constexpr int lacking = static_cast<int>(ErrorKind::resource);
    try {
        throw;
    } catch (const Error& error) {
        return {error.what(), error.exit_code()};
    } catch (const Stopped& stopped) {
        return {stopped.what(), exit_code_run_again};
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
