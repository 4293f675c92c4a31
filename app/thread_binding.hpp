/// Binding of OpenMP's threads to cores, as the environment asks for it: set aside.
#pragma once

#include <string>
#include <vector>

namespace ziggurat::app {

/// The variables that were set aside, as `NAME=value`; none where none would have bound anything.
///
/// OpenMP's runtime binds the process to the first of its places when it is loaded, before main and before
/// any rank is known: ranks that may use all cores then share one, and so do all threads that are not
/// OpenMP's. So the program takes these variables out of its environment before a library starts, and has the
/// cores that its launcher gave.
std::vector<std::string> binding_set_aside();

/// Puts them back, for a program that is started in the place of this one and sets them aside itself.
void put_binding_back();

/// A line on them for people; empty where there are none.
std::string binding_note();

}  // namespace ziggurat::app
