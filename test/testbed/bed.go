package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"
)

// Bed is a running test bed. Its methods may be called concurrently.
type Bed struct {
	// Config and Client reach the API server as an administrator. Client reads without a cache.
	Config *rest.Config
	Client client.WithWatch
	// Kubeconfig is the path of a file with the same credentials, for kubectl and other programs.
	Kubeconfig string
	// Dir is the bed's own folder, gone after Stop: what tests put there goes with it.
	Dir string
	// Root is the folder of this module.
	Root string
	// Pods stands in for a cluster's pods; nil with APIOnly.
	Pods *Pods
	// Controller is the Argo Rollouts controller; nil with APIOnly.
	Controller *Controller

	options  Options
	env      *envtest.Environment
	reaper   *reaper
	users    sync.Mutex
	mu       sync.Mutex // of programs
	programs []*Program
	stopOnce sync.Once
	stopErr  error
}

// Start brings a bed up and returns when the controller is ready to reconcile. It takes about ten seconds. An error that
// is ErrNoAssets means that nothing has been started for want of programs. The processes end by Stop, or with this
// process, however it ends.
func Start(ctx context.Context, o Options) (*Bed, error) {
	l, err := findLayout(ctx, o)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "testbed-")
	if err != nil {
		return nil, err
	}
	b := &Bed{options: o, Dir: dir, Root: l.root, Kubeconfig: filepath.Join(dir, "kubeconfig")}
	if b.reaper, err = startReaper(dir); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := b.start(ctx, l); err != nil {
		return nil, errors.Join(err, b.Stop())
	}
	return b, nil
}

func (b *Bed) start(ctx context.Context, l layout) error {
	if err := b.step("API server", func() error { return b.startAPIServer(l) }); err != nil {
		return err
	}
	if b.options.APIOnly {
		return nil
	}
	if err := b.configureController(ctx); err != nil {
		return err
	}
	kubeconfig, err := b.addController(ctx, l)
	if err != nil {
		return err
	}
	clients, err := kubernetes.NewForConfig(b.Config)
	if err != nil {
		return err
	}
	if b.Pods, err = startPods(ctx, clients); err != nil {
		return err
	}
	program, err := b.reaper.wrap(l.program(controllerName))
	if err != nil {
		return err
	}
	b.Controller = &Controller{Kubeconfig: kubeconfig, bed: b, program: program, dir: filepath.Join(b.Dir, "controller")}
	return b.step("Argo Rollouts controller", func() error { return b.Controller.Start(ctx) })
}

func (b *Bed) step(what string, do func() error) error {
	began := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	_, err := fmt.Fprintf(b.options.progress(), "%s up after %.1f s\n", what, time.Since(began).Seconds())
	return err
}

func (b *Bed) startAPIServer(l layout) error {
	crlog.SetLogger(logr.Discard()) // envtest logs through it, and complains of having none
	b.env = &envtest.Environment{
		CRDDirectoryPaths:        l.crds,
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: time.Minute, // of each of the two; a busy machine needs more than the default of 20 s
	}
	apiServer := b.env.ControlPlane.GetAPIServer()
	apiServer.Configure().Set("service-cluster-ip-range", "10.0.0.0/16") // the default has room for some 250 Services
	for name, value := range b.options.APIServerArgs {
		apiServer.Configure().Set(name, value)
	}
	etcd := &envtest.Etcd{}
	b.env.ControlPlane.Etcd = etcd
	var err error
	if apiServer.Path, err = b.reaper.wrap(l.program(apiServerName)); err != nil {
		return err
	}
	if etcd.Path, err = b.reaper.wrap(l.program(etcdName)); err != nil {
		return err
	}
	apiServer.CertDir, etcd.DataDir = filepath.Join(b.Dir, "certs"), filepath.Join(b.Dir, "data")
	for _, dir := range []string{apiServer.CertDir, etcd.DataDir} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	if b.Config, err = b.env.Start(); err != nil {
		return err
	}
	if err := os.WriteFile(b.Kubeconfig, b.env.KubeConfig, 0o600); err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	b.Client, err = client.NewWithWatch(b.Config, client.Options{Scheme: scheme})
	return err
}

// Stop ends all that Start began and removes the bed's folder. Further calls return what the first one did.
func (b *Bed) Stop() error {
	b.stopOnce.Do(func() { b.stopErr = b.stop() })
	return b.stopErr
}

func (b *Bed) stop() error {
	var errs []error
	errs = append(errs, b.stopPrograms())
	if b.Pods != nil {
		b.Pods.stop()
	}
	if b.Controller != nil {
		errs = append(errs, b.Controller.Stop())
	}
	if b.env != nil {
		errs = append(errs, b.env.Stop())
	}
	errs = append(errs, b.reaper.dismiss(), os.RemoveAll(b.Dir))
	return errors.Join(errs...)
}

// NewNamespace creates a namespace whose name begins with prefix and nobody else uses. Nothing deletes it: there is no
// namespace controller in the bed.
func (b *Bed) NewNamespace(ctx context.Context, prefix string) (string, error) {
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	err := b.Client.Create(ctx, ns)
	return ns.Name, err
}

// AddUser creates credentials for a user who has no rights of its own: RBAC is in force. It returns a client config and
// the path of a kubeconfig with them. A service account's user name is system:serviceaccount:NAMESPACE:NAME.
func (b *Bed) AddUser(name string, groups ...string) (*rest.Config, string, error) {
	b.users.Lock() // envtest takes one at a time
	defer b.users.Unlock()
	user, err := b.env.AddUser(envtest.User{Name: name, Groups: groups}, &rest.Config{QPS: 1000, Burst: 2000})
	if err != nil {
		return nil, "", err
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return nil, "", err
	}
	file, err := os.CreateTemp(b.Dir, "kubeconfig-")
	if err != nil {
		return nil, "", err
	}
	_, err = file.Write(kubeconfig)
	return user.Config(), file.Name(), errors.Join(err, file.Close())
}
