"""Random worlds of tasks in which every text says where it belongs, and no request may hold a foreign one."""
