#include "train/resume/first_decision.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/stop_check.hpp"
#include "comm/control.hpp"

namespace ziggurat::train {

using nlohmann::json;

Decision decide_on_first(const comm::Context& world, const std::function<Decision()>& decide) {
    json with_display_path;
    if (world.rank() == 0) {
        try {
            const auto made = decide();
            with_display_path = {{"path", made.path},
                                 {"is_own", made.is_own},
                                 {"manifest", made.manifest},
                                 {"deck", made.deck}};
        } catch (const Error& error) {
            with_display_path = {{"code", error.exit_code()}, {"problem", error.what()}};
        } catch (const Stopped& stopped) {
            with_display_path = {{"stopped", stopped.what()}};
        } catch (const std::exception& error) {
            with_display_path = {{"code", static_cast<int>(ErrorKind::resource)}, {"problem", error.what()}};
        }
    }
    constexpr auto replace = json::error_handler_t::replace;  // paths may be any bytes
    const auto received =
        json::parse(comm::broadcast(world, with_display_path.dump(-1, ' ', false, replace)));
    if (received.contains("stopped")) {
        throw Stopped{received["stopped"].get<std::string>(), true};
    }
    if (received.contains("code")) {
        throw Error{static_cast<ErrorKind>(received["code"].get<int>()),
                    received["problem"].get<std::string>()};
    }
    return {received["path"], received["is_own"], received["manifest"], received["deck"]};
}

}  // namespace ziggurat::train
