package testkit

// Server is the directory and the process of this process's private database server.
func Server() (dir string, pid int, err error) {
	c, err := theCluster()
	if err != nil {
		return "", 0, err
	}
	return c.dir, c.db.Pid(), nil
}
