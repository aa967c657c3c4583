// Ports of services that do not speak HTTP, or that speak it to administrators only: a request sent there is
// an attack on the service, not a call (the Fetch standard's bad ports, plus databases, brokers and control planes).

const PORTS: ReadonlySet<number> = new Set([
  // Fetch standard, "bad port"
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
  // files, remote shells and desktops
  138, 445, 873, 3389, 5900, 5901, 5902, 5903, 5985, 5986,
  // databases and caches
  1433, 1434, 1521, 3050, 3306, 5432, 5984, 6379, 6380, 7199, 7687, 8086, 9042, 9160, 9200, 9300, 11211,
  27017, 27018, 27019, 28015,
  // brokers and coordination
  1883, 2181, 4369, 5671, 5672, 8883, 9092, 15672, 25672, 61613, 61616,
  // control planes: Docker, etcd, Kubernetes, kubelet, Consul
  2375, 2376, 2379, 2380, 6443, 8300, 8301, 8302, 8500, 8600, 10250, 10255, 10256, 10257, 10259,
]);

/** Whether a port is refused unless an allow-list entry names the host with exactly this port. */
export function isRefusedPort(port: number): boolean {
  return PORTS.has(port);
}
