// Says which variables a process of the store was started with.
process.send?.(process.env);
