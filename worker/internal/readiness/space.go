package readiness

import "syscall"

// space asks the file system at path how large it is and how much of it an ordinary user may still fill, in bytes.
func space(path string) (total, free uint64, err error) {
	var stat syscall.Statfs_t
	if err := syscall.Statfs(path, &stat); err != nil {
		return 0, 0, err
	}
	block := uint64(stat.Bsize)
	return stat.Blocks * block, stat.Bavail * block, nil
}
