// The headers that all tests share, compiled once, belong to the target of this file.
